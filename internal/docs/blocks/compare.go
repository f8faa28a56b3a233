package blocks

import (
	"regexp"
	"slices"
	"strings"
)

// differs lists what may differ from run to run in output. Everything else is compared as it is, but for the number of
// spaces between words.
var differs = []struct {
	pattern *regexp.Regexp
	as      string
}{
	{regexp.MustCompile(`\btenure-[0-9a-f]{8}-\w+-r\d+\.backup\b`), "BACKUP"},
	{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "UUID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?Z)?|\b\d{8}T\d{6}Z`), "DATE"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d(\.\d+)?\b`), "TIME"},
	{regexp.MustCompile(`\bjoin-[A-Z2-7]{26}\b`), "OPERATION"},
	{regexp.MustCompile(`[\w-]{50,}`), "GRANT"}, // of a lease
	{regexp.MustCompile(`\b(Retry-After(-Ms)?|X-Consul-Lastcontact): \d+`), "HEADER"},
	{regexp.MustCompile(`\b[0-9a-f]{16,}\b`), "ID"}, // of a cluster, of an entry's checksum
	{regexp.MustCompile(`\b\d{10,}\b`), "TOKEN"},    // of a lease, and revisions of a restored cluster
	{regexp.MustCompile(`\bpid \d+\b`), "pid N"},
	{regexp.MustCompile(`[\w.-]+@vm\b`), "USER@HOST"}, // of whoever runs the command
	{regexp.MustCompile(`~?\b(\d+(\.\d+)? ?(ns|µs|ms|s|m|h|days|d))+\b`), "DURATION"},
}

// given are ids that a cluster gives out, and that a page's later commands have as the page shows them.
var given = regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|[\w-]{50,}|\b\d{10,}\b`)

// Given adds to ids what was printed for each id that is shown.
func Given(ids map[string]string, shown, printed []string) {
	as := given.FindAllString(strings.Join(shown, "\n"), -1)
	is := given.FindAllString(strings.Join(printed, "\n"), -1)
	for i := range min(len(as), len(is)) {
		ids[as[i]] = is[i]
	}
}

// leftOut are lines that the pages leave out of what curl prints.
var leftOut = regexp.MustCompile(`^(Date|Content-Length|X-Content-Type-Options|X-Tenure-Master): `)

var (
	spaces = regexp.MustCompile(`[ \t]+`)
	number = regexp.MustCompile(`\d+(\.\d+)?`)
)

// Same reports whether a command printed what the page shows.
func Same(shown, printed []string, loose bool) bool {
	shown, printed = normal(shown, loose), normal(printed, loose)
	var b strings.Builder
	b.WriteString(`\A`)
	for _, line := range shown {
		if line == "…" {
			b.WriteString(`(?:.*\n)*`)
			continue
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", `.*`) + `\n`)
	}
	b.WriteString(`\z`)
	text := strings.Join(printed, "\n")
	if text != "" {
		text += "\n"
	}
	return regexp.MustCompile(b.String()).MatchString(text)
}

func normal(lines []string, loose bool) []string {
	out := strings.Split(strings.Trim(strings.Join(lines, "\n"), "\n"), "\n")
	for i, line := range out {
		for _, d := range differs {
			line = d.pattern.ReplaceAllString(line, d.as)
		}
		if loose {
			line = number.ReplaceAllString(line, "N")
		}
		out[i] = strings.TrimRight(spaces.ReplaceAllString(line, " "), " \r")
	}
	if loose {
		slices.Sort(out)
	}
	return slices.DeleteFunc(out, func(line string) bool { return line == "" || leftOut.MatchString(line) })
}
