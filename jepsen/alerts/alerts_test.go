package alerts

import (
	"regexp"
	"strings"
	"testing"
)

// Each alert of the rules has a fault that is made for real, but for those that package alerts leaves to promtool.
func TestEveryAlertHasAFault(t *testing.T) {
	rules, err := page(t.Context(), "tenure.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{}
	all := append((&plain{bed: b}).nodes(), (&plain{bed: b}).clients()...)
	all = append(all, (&disks{bed: b}).faults()...)
	all = append(all, (&machines{bed: b}).faults()...)
	all = append(all, (&machines{bed: b}).versions(""), b.differ(""))
	all = append(all, (&certificates{bed: b}).faults()...)
	made := map[string]bool{"TenureHandlerPanics": false, "TenureArchiveGap": false, notTried: false}
	for _, f := range all {
		for _, a := range f.alerts {
			made[a] = true
		}
	}
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		if _, ok := made[m[1]]; !ok {
			t.Errorf("no fault is made for %s", m[1])
		}
		delete(made, m[1])
	}
	for a := range made {
		t.Errorf("the rules lack %s", a)
	}
}

func TestShorten(t *testing.T) {
	for rule, want := range map[string]string{
		"for: 15s":                       "for: 1s",
		"for: 10m":                       "for: 30s",
		"for: 1d":                        "for: 60s",
		"rate(x[5m]) > 0.1":              "rate(x[15s]) > 0.1",
		"changes(x[1h]) > 3":             "changes(x[180s]) > 3",
		"max_over_time(x[7d])":           "max_over_time(x[420s])",
		"x - time() < 14 * 86400":        "x - time() < 14 * 60",
		"tenure_disk_silent_seconds > 5": "tenure_disk_silent_seconds > 5",
	} {
		if got := shorten(rule); got != want {
			t.Errorf("%q became %q, not %q", rule, got, want)
		}
	}
}

func TestChoose(t *testing.T) {
	if all, err := choose(nil); err != nil || len(all) != len(Beds()) {
		t.Errorf("%d, %v", len(all), err)
	}
	if two, err := choose([]string{"differ", "plain"}); err != nil || len(two) != 2 || two[0].Name != "plain" {
		t.Errorf("%v, %v", two, err)
	}
	if _, err := choose([]string{"plain", "no"}); err == nil || !strings.Contains(err.Error(), `"no"`) {
		t.Error(err)
	}
}
