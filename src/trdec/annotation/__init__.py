"""Trees for sentences that have none: parsers of other packages, and files of what they found."""
