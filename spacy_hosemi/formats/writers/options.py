"""What writers need to know beside the records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class WriterOptions:
    """Choices of a user.

    model (str): The name and version of the pipeline.
    fields (Mapping[str, str]): For each label the field of BibTeX that it is, see
        `references.fields`; labels that are not named are left out.
    labels (Sequence[str]): The labels that have a column in a table of records.
    alternative (str): What an alternative is called, if there is one at most; empty:
        they have numbers.
    has_verdicts (bool): Whether tables have a column for the verdicts of records, or of
        fields.
    """

    model: str = "hosemi"
    fields: Mapping[str, str] = field(default_factory=dict)
    labels: Sequence[str] = ()
    has_verdicts: bool = False
    alternative: str = ""
