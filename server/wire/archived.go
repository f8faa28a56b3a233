package wire

// Archived is what the node that archives tells the others: they keep their logs from there on, so that each of them
// can go on with the archive.
type Archived struct {
	Slot      uint64 // behind it the archive goes on; what is before is in the archive, or in a gap
	ReachedMS int64  // when the last archived slot had been applied, in ms since 1970
	Full      Copy   // the newest full copy; zero: there is none
	Verified  Copy   // the newest one that was verified; zero: there is none
	// Stored is the last slot that is known to be in a segment at the target. It is below Slot while an archive that is
	// new, or goes on after a gap, has no segment there yet. 0: there is none, or a release that does not tell.
	Stored uint64
}

// Copy is a full copy in the archive. Times are in ms since 1970.
type Copy struct {
	Slot, Revision uint64
	MadeMS         int64
	WhenMS         int64 // when it was verified
}

// EncodeArchived returns the body of a.
func EncodeArchived(a *Archived) []byte { return encode(nil, typeArchived, a) }
