package api

// Upgrade says which feature level the cluster has, and what its members could have: the answer of GET PathUpgrade, and
// of POST PathUpgradeFinish.
type Upgrade struct {
	FeatureLevel uint64        `json:"feature_level"` // of the cluster, as applied by the node that answers
	NewestLevel  uint64        `json:"newest_level"`  // that the release of that node knows
	Members      []MemberLevel `json:"members"`       // by rising id
	// Blocked says why the level cannot be raised now. It is empty if it can be, or is the newest already.
	Blocked string `json:"blocked,omitempty"`
	// RaisesInMS is in how many milliseconds the master raises the level by itself, at the earliest; -1: it does not.
	RaisesInMS int64 `json:"raises_in_ms"`
}

// MemberLevel is the release of a member.
type MemberLevel struct {
	Node  uint64 `json:"node"`
	Name  string `json:"name"`
	Level uint64 `json:"level"` // the highest that it knows, as last heard
	Heard bool   `json:"heard"` // it is connected, and was heard just now
}

// UpgradeFinish is the body of POST PathUpgradeFinish.
type UpgradeFinish struct {
	DryRun bool `json:"dry_run"` // change nothing, only tell
}
