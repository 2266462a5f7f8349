"""Refusals become RFC 9457 problem documents. Only this module knows status codes."""
