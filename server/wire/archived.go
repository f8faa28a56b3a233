package wire

// Archived is the position of the archive, sent by the archiving node to the others. They keep their logs from there
// on, so that each can continue the archive.
type Archived struct {
	Slot      uint64 // behind it the archive goes on; what is before is in the archive, or in a gap
	ReachedMS int64  // when the last archived slot had been applied, in ms since 1970
	Full      Copy   // the newest full copy; zero: there is none
	Verified  Copy   // the newest one that was verified; zero: there is none
	// Stored is the last slot known to be in a segment at the target. It is below Slot as long as an archive has no
	// segment yet, at its beginning or after a gap. 0: no segment.
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
