package alerts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"tenure/jepsen/cluster"
)

const monitoring = "packaging/monitoring"

// Seconds, minutes and hours of the rules are divided by divisor. A day lasts daySeconds.
const (
	divisor    = 20
	daySeconds = 60
)

var (
	span = regexp.MustCompile(`(for: |\[)(\d+)([smhd])\b`)
	days = regexp.MustCompile(`\b(\d+) \* 86400\b`)
)

var unitSeconds = map[string]int{"s": 1, "m": 60, "h": 3600}

// shorten returns rules with all their times divided: seconds, minutes and hours by divisor, and days so that one lasts
// daySeconds.
func shorten(rules string) string {
	rules = span.ReplaceAllStringFunc(rules, func(s string) string {
		m := span.FindStringSubmatch(s)
		n, _ := strconv.Atoi(m[2])
		if m[3] == "d" {
			n *= daySeconds
		} else {
			n = max(1, n*unitSeconds[m[3]]/divisor)
		}
		return fmt.Sprintf("%s%ds", m[1], n)
	})
	return days.ReplaceAllString(rules, "$1 * "+strconv.Itoa(daySeconds))
}

// page returns a file of packaging/monitoring.
func page(ctx context.Context, name string) ([]byte, error) {
	root, err := cluster.ModuleRoot(ctx)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(root, monitoring, name))
}
