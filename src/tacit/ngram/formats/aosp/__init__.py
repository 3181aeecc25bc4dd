"""Dictionaries of Android keyboards: AOSP's `.combined` word list and its binary `.dict`, version 202."""
