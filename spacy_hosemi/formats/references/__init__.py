"""References as BibTeX and CSL understand them: fields, names, dates, kinds."""
