"""Affiliations as values, `doc._.affiliation`: part of en_hosemi_affiliations."""

from dataclasses import dataclass
from typing import Any

from spacy.tokens import Doc

ADDRESS = dict(  # as schema.org's PostalAddress calls them
    x.split(":")
    for x in "street:streetAddress postbox:postOfficeBoxNumber postcode:postalCode "
    "city:addressLocality region:addressRegion country:addressCountry".split()
)


@dataclass(frozen=True)
class Affiliation:
    """What an affiliation says: "" or nothing where it says nothing. Lists are in the
    order of the text; several texts of one of the others are joined by commas."""

    institutions: list[str]
    departments: list[str]
    laboratories: list[str]
    marker: str
    street: str
    postbox: str
    postcode: str
    city: str
    region: str
    country: str

    def to_schema(self) -> dict[str, Any]:
        """Returns an Organization of schema.org, for `affiliation` of a Person."""
        units = [*self.laboratories, *self.departments]
        name, *above = self.institutions or units[-1:] or [""]
        values = {key: getattr(self, label) for label, key in ADDRESS.items()}
        address = {key: value for key, value in values.items() if value}
        kind = {"@type": "Organization"}
        parts = {
            "department": [kind | {"name": x} for x in units if x != name],
            "parentOrganization": [kind | {"name": x} for x in above],
            "address": address and {"@type": "PostalAddress", **address},
        }
        return kind | {"name": name} | {key: x for key, x in parts.items() if x}


def read_affiliation(doc: Doc) -> Affiliation:
    """Returns what `doc.ents` say. Registered as `doc._.affiliation`."""
    texts: dict[str, dict[str, None]] = {}
    for span in doc.ents:
        if text := " ".join(span.text.split()).strip(" ,;"):
            texts.setdefault(span.label_, {})[text] = None
    lists = [[*texts.get(x, ())] for x in ("institution", "department", "laboratory")]
    said = {label: ", ".join(texts.get(label, ())) for label in ("marker", *ADDRESS)}
    return Affiliation(*lists, **said)


Doc.set_extension("affiliation", getter=read_affiliation, force=True)
