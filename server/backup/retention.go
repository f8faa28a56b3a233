package backup

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Retention says which backups of each cluster to keep. A backup is kept if any field keeps it. The newest backup of
// each cluster is always kept.
type Retention struct {
	Last int // number of newest backups to keep
	// Daily, Weekly and Monthly are numbers of days, weeks (from Monday) and months, in UTC. The newest backup of each
	// is kept. Periods without a backup do not count.
	Daily, Weekly, Monthly int
	// Within keeps all backups made within this time before the newest one. It does not count from today, so that a
	// stopped schedule does not delete the remaining backups.
	Within time.Duration
}

// IsZero reports whether the retention keeps only the newest backup.
func (r Retention) IsZero() bool { return r == Retention{} }

// Decision says whether and why a Retention keeps a backup.
type Decision struct {
	File
	Why []string // the rules that keep it; empty if none does
}

// Keep reports whether the backup is kept.
func (d Decision) Keep() bool { return len(d.Why) > 0 }

// Newest compares two backups for sorting: by cluster, and within a cluster from the newest to the oldest. The revision
// decides which is newer, since a clock may have been wrong.
func Newest(a, b File) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(b.Revision, a.Revision), b.Made.Compare(a.Made),
		cmp.Compare(a.Name, b.Name))
}

// Decide returns a decision for each backup, in the order of Newest.
func (r Retention) Decide(files []File) []Decision {
	files = slices.Clone(files)
	slices.SortFunc(files, Newest)
	all := make([]Decision, 0, len(files))
	var rules []rule
	var newest File
	for i, f := range files {
		d := Decision{File: f}
		if i == 0 || f.Cluster != newest.Cluster {
			newest, rules = f, r.rules()
			d.Why = append(d.Why, "newest")
		}
		for j := range rules {
			if why, keep := rules[j].keep(f); keep {
				d.Why = append(d.Why, why)
			}
		}
		if r.Within > 0 && !f.Made.Before(newest.Made.Add(-r.Within)) {
			d.Why = append(d.Why, "within "+r.Within.String())
		}
		all = append(all, d)
	}
	return all
}

// rule keeps the newest backup of each of a number of periods.
type rule struct {
	left   int // periods that may still keep a backup
	period func(File) string
	seen   map[string]bool
}

func (r Retention) rules() []rule {
	last := 0
	return []rule{
		{r.Last, func(File) string { last++; return fmt.Sprintf("last %d", last) }, map[string]bool{}},
		{r.Daily, func(f File) string { return f.Made.UTC().Format("day 2006-01-02") }, map[string]bool{}},
		{r.Weekly, func(f File) string {
			year, week := f.Made.UTC().ISOWeek()
			return fmt.Sprintf("week %d-W%02d", year, week)
		}, map[string]bool{}},
		{r.Monthly, func(f File) string { return f.Made.UTC().Format("month 2006-01") }, map[string]bool{}},
	}
}

// keep reports whether the rule keeps f, and for which period. It is called with the backups of a cluster from the
// newest to the oldest.
func (r *rule) keep(f File) (why string, keep bool) {
	if r.left == 0 {
		return "", false
	}
	period := r.period(f)
	if r.seen[period] {
		return "", false
	}
	r.seen[period] = true
	r.left--
	return period, true
}
