package api

// QuotaRequest is the body of PUT PathQuota. One of the limits must be above 0, and none above MaxQuota.
type QuotaRequest struct {
	Bytes uint64 `json:"bytes,omitempty"` // of keys and values under the prefix; 0: any number
	Keys  uint64 `json:"keys,omitempty"`  // under the prefix; 0: any number
}

// Quota is the answer to GET PathQuota: a bound on the keys that start with a prefix, and what they take.
type Quota struct {
	Prefix    string `json:"prefix"`
	Bytes     uint64 `json:"bytes"` // the limit; 0: any number
	Keys      uint64 `json:"keys"`  // the limit; 0: any number
	UsedBytes uint64 `json:"used_bytes"`
	UsedKeys  uint64 `json:"used_keys"`
	// Counting: the keys that were there when the quota was set are still being counted; UsedBytes and UsedKeys cover
	// the keys counted so far.
	Counting bool `json:"counting,omitempty"`
}

// QuotaList is the answer to GET PathQuotas: all quotas, by prefix.
type QuotaList struct {
	Quotas []Quota `json:"quotas"`
}
