package main

import (
	"encoding/json"
	"strings"
	"testing"

	"tenure/storage"
)

func TestExamineRefusesFlagsThatItWouldIgnore(t *testing.T) {
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

// Programs read an answer in JSON also where there is nothing to check.
func TestCheckInJSON(t *testing.T) {
	inEmptyDir(t, nil)
	formed(t, "d", 1, 3)
	for _, name := range []string{"check", "inspect"} {
		var r struct{ Sound bool }
		if o := command(t, nil, nil, name, "d", "--json"); o.code != 0 || json.Unmarshal([]byte(o.stdout), &r) != nil || !r.Sound {
			t.Errorf("%s: %+v", name, o)
		}
	}
	s, err := storage.Open("d", storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for dir, inUse := range map[string]bool{"d": true, "none": false} {
		o := command(t, nil, nil, "check", dir, "--json")
		var r struct {
			Dir     string
			InUse   bool `json:"in_use"`
			Refused string
		}
		if err := json.Unmarshal([]byte(o.stdout), &r); err != nil || o.code != exitConfig || r.Dir != dir || r.InUse != inUse ||
			r.Refused == "" {
			t.Errorf("%s: %+v %v", dir, o, err)
		}
	}
}
