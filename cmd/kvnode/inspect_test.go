package main

import (
	"strings"
	"testing"
)

func TestInspectRefusesFlagsThatItWouldIgnore(t *testing.T) {
	inEmptyDir(t, nil)
	formed(t, "d", 1, 3)
	for args, want := range map[string]string{
		"inspect d --from 3":              "inspect: --from needs --log",
		"inspect d --state --to 3":        "inspect: --to needs --log",
		"inspect d --log --prefix a":      "inspect: --prefix needs --state",
		"inspect d --space data":          "inspect: --space needs --state",
		"inspect d --values":              "inspect: --values needs --log or --state",
		"inspect d --state --space dat":   "there are data, dedup, session, held, expiry, delay, fence, tombstone, members, quota, staged",
		"inspect d --log --from x":        "--from \"x\": must be a whole number",
		"inspect d e":                     "inspect: name one data directory",
		"check d --log":                   "unknown flag: --log",
		"inspect d --log --from 2 --to 1": "from slot 2 to 1 there is none",
	} {
		o := command(t, nil, nil, strings.Fields(args)...)
		if o.code != exitConfig || !strings.Contains(o.stderr, want) || o.stdout != "" {
			t.Errorf("%s: %+v, want %s", args, o, want)
		}
	}
}

func TestInspectSaysThatThereIsNothing(t *testing.T) {
	inEmptyDir(t, nil)
	formed(t, "d", 1, 3)
	o := command(t, nil, nil, "inspect", "d", "--state", "--space", "quota")
	if o.code != 0 || o.stdout != "" || !strings.Contains(o.stderr, "there is nothing of that kind") {
		t.Errorf("%+v", o)
	}
}
