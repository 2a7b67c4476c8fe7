"""Foundations without knowledge of sessions: text, time, paths, redaction, errors."""
