package api

// History is how busy a node was in the last minutes, as it remembers it in memory since its start.
type History struct {
	Node    uint64 `json:"node"`
	EveryMS int64  `json:"every_ms"` // between two samples
	SpanMS  int64  `json:"span_ms"`  // older samples are forgotten
	// Samples are in the order of their time. Some are missing if the process was suspended.
	Samples []HistorySample `json:"samples"`
}

// HistorySample is what a node saw between the sample before and this one.
type HistorySample struct {
	AgeMS int64 `json:"age_ms"` // how long ago it was taken
	// RequestsPerS counts requests for keys, sessions, leases, tokens and the like that clients made of this node, over
	// HTTP and Redis. Questions how the node is do not count.
	RequestsPerS float64 `json:"requests_per_s"`
	// P99MS is within how long 99 % of them were answered, without what they waited for changes; it may be up to a
	// quarter too long. 0: there were none.
	P99MS float64 `json:"p99_ms"`
	// Lags are of the other members.
	Lags []MemberLag `json:"lags"`
}

// MemberLag is how many slots a member has not applied, as far as has been heard, of those that are known to be chosen.
type MemberLag struct {
	Node  uint64 `json:"node"`
	Slots uint64 `json:"slots"`
}
