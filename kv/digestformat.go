package kv

// DigestFormat numbers what storage's digests of checkpoints are made of: the records and the meta record that the same
// commands leave in the state database, and how they are summed up. Digests of different formats are never compared. A
// version that writes anything else for the same commands raises it; what a feature level changes is no reason, because
// the level is a command too.
const DigestFormat = 1
