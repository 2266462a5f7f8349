"""The one door for changes: authorise, validate, declare, open an operation; one transaction."""
