"""The command line, one file per verb: it alone prints, and it alone knows flags."""
