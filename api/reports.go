package api

// Reports is what each member says of itself. The node that is asked gathers it.
type Reports struct {
	Reports []Report `json:"reports"` // by the number of the node
}

// Report is what a member says of itself.
type Report struct {
	Node uint64 `json:"node"`
	// Problem is why the member says nothing. Then nothing else is known.
	Problem  string      `json:"problem,omitempty"`
	Version  string      `json:"version,omitempty"`
	Draining bool        `json:"draining,omitempty"` // it takes no new clients and does not become master
	UptimeMS int64       `json:"uptime_ms,omitempty"`
	Disk     *DiskStatus `json:"disk,omitempty"`
	// Changes are the last beginnings and ends of its own tenures of the master lease in its current run, oldest first,
	// with times by its own clock.
	Changes []TenureChange `json:"changes"`
}
