package main

import (
	"encoding/json"
	"testing"

	"tenure/storage"
)

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
