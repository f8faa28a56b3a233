package backend

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"tenure/kv"
	"tenure/server/metrics"
)

// quotaMetrics collects the quotas of prefixes. They come and go, so the series are those of the time of a collection.
type quotaMetrics struct {
	quotas                     func() []kv.Quota
	limit, used, keys, keyUsed *prometheus.Desc
}

// maxQuotaSeries is how many quotas have series of their own. The fullest ones do, so that an alert misses no quota
// that is about to refuse writes.
const maxQuotaSeries = 100

func newQuotaMetrics(quotas func() []kv.Quota) *quotaMetrics {
	const most = " Of the 100 fullest quotas."
	return &quotaMetrics{
		quotas: quotas,
		limit:  metrics.Desc("quota_bytes", "Bytes that the quota of the prefix allows."+most, "prefix"),
		used: metrics.Desc("quota_used_bytes",
			"Bytes of the keys and values under the prefix, as applied here."+most, "prefix"),
		keys:    metrics.Desc("quota_keys", "Keys that the quota of the prefix allows."+most, "prefix"),
		keyUsed: metrics.Desc("quota_used_keys", "Keys under the prefix, as applied here."+most, "prefix"),
	}
}

// Describe implements prometheus.Collector.
func (m *quotaMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.limit, m.used, m.keys, m.keyUsed} {
		to <- d
	}
}

// Collect implements prometheus.Collector. A limit that is not set has no series.
func (m *quotaMetrics) Collect(to chan<- prometheus.Metric) {
	for _, q := range fullest(m.quotas(), maxQuotaSeries) {
		gauge := func(d *prometheus.Desc, value uint64) {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), q.Prefix)
		}
		if q.Bytes > 0 {
			gauge(m.limit, q.Bytes)
		}
		if q.Keys > 0 {
			gauge(m.keys, q.Keys)
		}
		gauge(m.used, q.UsedBytes)
		gauge(m.keyUsed, q.UsedKeys)
	}
}

// fullest returns at most n of quotas, which are sorted by prefix: those that have used most of a limit.
func fullest(quotas []kv.Quota, n int) []kv.Quota {
	share := func(q *kv.Quota) (most float64) {
		if q.Bytes > 0 {
			most = float64(q.UsedBytes) / float64(q.Bytes)
		}
		if q.Keys > 0 {
			most = max(most, float64(q.UsedKeys)/float64(q.Keys))
		}
		return most
	}
	slices.SortStableFunc(quotas, func(a, b kv.Quota) int { return cmp.Compare(share(&b), share(&a)) })
	return quotas[:min(n, len(quotas))]
}
