"""Endpoints, one module per noun: HTTP into intents and reads, and back."""
