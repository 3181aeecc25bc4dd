"""Secure sums: a server learns the sum of its clients' vectors and no single one of them. UNAUDITED.

The protocol is that of Bonawitz et al., *Practical Secure Aggregation for Privacy-Preserving Machine Learning* (2017),
on the sparse graph of Bell et al., *Secure Single-Server Aggregation with (Poly)Logarithmic Overhead* (2020). It is a
state machine without sockets: bytes go in, bytes come out. docs/secure-sums.md has the threat model.

    shamir      splits a secret of 256 bits among neighbours
    primitives  X25519, HKDF, AES-GCM and hashes, with the labels that separate their uses
    masks       AES-256-CTR streams, added to vectors of uint64
    graph       who is whose neighbour, and the degree and threshold for stated failure probabilities
    messages    the bytes that travel
    client      one client's four stages
    server      the server's four stages
    codec       a tree of numbers as a vector of fixed-point integers, and back
    simulated   all parties in one process: `secure_sum`, `secured_total`

Clients and servers need the package `cryptography` (the extra `privacy`); training without secure sums does not.
"""
