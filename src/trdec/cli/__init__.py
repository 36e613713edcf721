"""The command line: one file a verb. It alone prints."""
