// What a party of a secure sum says when it does not go on; as in tacit.privacy.secure.errors.

/** A message that is not taken: damaged, forged, late, or of another round. */
export class Refused extends Error {}

/** A round that cannot end. The party has forgotten its secrets, and answers nothing more. */
export class Abandoned extends Error {}
