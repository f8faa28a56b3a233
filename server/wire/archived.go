package wire

// Archived is what the node that archives tells the others: they keep their logs from there on, so that each of them
// can go on with the archive.
type Archived struct {
	Slot      uint64 // through it everything is in the archive
	ReachedMS int64  // when that slot had been applied, in ms since 1970
	Full      Copy   // the newest full copy; zero: there is none
	Verified  Copy   // the newest one that was verified; zero: there is none
}

// Copy is a full copy in the archive. Times are in ms since 1970.
type Copy struct {
	Slot, Revision uint64
	MadeMS         int64
	WhenMS         int64 // when it was verified
}

// EncodeArchived returns the body of a.
func EncodeArchived(a *Archived) []byte { return encode(nil, typeArchived, a) }
