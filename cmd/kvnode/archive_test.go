package main

import (
	"strings"
	"testing"
)

func TestArchiveSettings(t *testing.T) {
	inEmptyDir(t, map[string]string{"some.backup": "x"})
	for args, want := range map[string]string{
		"--archive=ftp://x":                     "--archive: ",
		"--archive-keep 3d":                     "--archive-keep: it needs --archive",
		"--archive-full-every 3h":               "--archive-full-every: it needs --archive",
		"--archive a --archive-full-every 59s":  "archive-full-every >= 1m0s must hold",
		"--archive a --archive-verify-every 1s": "archive-verify-every >= 1m0s must hold",
		"--archive a --archive-keep 1h":         "archive-keep >= archive-full-every must hold",
		"--archive a --archive-keep 1y":         "is not a length of time",
		"--archive a --archive-keep xd":         "write it with its unit, like 30s, 36h, 7d or 2w",
		"--archive a --archive-recipient age1x": "is no age1",
		"--archive a --archive-recipient x,":    "remove the comma",
		"--archive a --archive-identity none":   "needs --archive-recipient",
		"--archive-recipient age1x":             "--archive-recipient: it needs --archive",
		"restore . --identity none --data new":  "file of identities none",
		"restore . --at yesterday --data new":   "--at \"yesterday\" is no revision and no time",
		"restore . --at 0 --data new":           "--at \"0\" is no revision and no time",
		"restore . --data new":                  "no archive",
		"restore . --cluster-id 0c --data new":  "has no archive of a cluster 0c",
		"restore ftp://x --data new":            "scheme \"ftp\"",
		"restore some.backup --at 5 --data new": "which has one revision only",
	} {
		o := command(t, nil, nil, strings.Fields(args)...)
		if o.code != exitConfig || !strings.Contains(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%s: %+v, want %s", args, o, want)
		}
	}
}
