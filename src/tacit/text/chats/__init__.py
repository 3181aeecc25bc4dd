"""Chats that people exported from their phones, as messages by person."""
