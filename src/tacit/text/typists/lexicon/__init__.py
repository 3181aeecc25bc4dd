"""The typists' words, all written for Tacit: topics with their nouns, acts and judgements, names, verbs.

Data only; `tacit.text.typists.world` reads it. Lists are ordered from common to rare because a list's
order is its Zipf rank.
"""
