package backend

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tenure/kv"
)

func TestQuotaMetrics(t *testing.T) {
	quotas := []kv.Quota{
		{Prefix: "a/", Bytes: 1000, UsedBytes: 250, UsedKeys: 2},
		{Prefix: "b/", Keys: 5, UsedBytes: 70, UsedKeys: 6}, // it was set too low
	}
	m := newQuotaMetrics(func() []kv.Quota { return append([]kv.Quota(nil), quotas...) })
	const want = `
tenure_quota_bytes{prefix="a/"} 1000
tenure_quota_keys{prefix="b/"} 5
tenure_quota_used_bytes{prefix="a/"} 250
tenure_quota_used_bytes{prefix="b/"} 70
tenure_quota_used_keys{prefix="a/"} 2
tenure_quota_used_keys{prefix="b/"} 6
`
	if got := series(t, m); got != strings.TrimPrefix(want, "\n") {
		t.Errorf("%s", got)
	}
	for i := range 2 * maxQuotaSeries {
		quotas = append(quotas, kv.Quota{Prefix: fmt.Sprintf("c%03d/", i), Keys: 1000, UsedKeys: uint64(i)})
	}
	got := series(t, m)
	if n := strings.Count(got, "tenure_quota_used_keys{"); n != maxQuotaSeries {
		t.Errorf("%d quotas have series", n)
	}
	for prefix, there := range map[string]bool{"a/": true, "b/": true, "c199/": true, "c102/": true, "c101/": false} {
		if strings.Contains(got, fmt.Sprintf("used_keys{prefix=%q}", prefix)) != there {
			t.Errorf("%s: want its series: %v", prefix, there)
		}
	}
}

// series returns the series of c as they are shown, without comments.
func series(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	page := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	var out strings.Builder
	for line := range strings.Lines(page.Body.String()) {
		if !strings.HasPrefix(line, "#") {
			out.WriteString(line)
		}
	}
	return out.String()
}
