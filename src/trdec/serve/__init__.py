"""A translation server: models in processes of their own, behind two interfaces and a page."""
