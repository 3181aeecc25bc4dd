"""The typists' words, all written for Tacit: topics with their nouns, acts and adjectives, names, verbs.

Data only; `tacit.text.typists.world` reads it. Lists go from common to rare, because the order is the Zipf rank.
"""
