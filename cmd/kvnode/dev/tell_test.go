package dev

import (
	"bytes"
	"strings"
	"testing"
)

// What is to be typed into a shell is quoted, whatever the directory is called.
func TestTheCommandsThatAreToldAreQuoted(t *testing.T) {
	var out bytes.Buffer
	told := &teller{out: &out, dir: "/tmp/a $(touch b)", redis: "127.0.0.1:6379",
		o: Options{Nodes: 3, BasePort: 8500, ACL: true, TLS: true, Kvctl: "/my programs/kvctl"}}
	told.ready(0, 1)
	commands := 0
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, "  ") {
			continue
		}
		commands++
		for _, part := range []string{"/tmp/a ", "/my programs/"} {
			if strings.Count(line, part) != strings.Count(line, "'"+part) {
				t.Errorf("not quoted: %s", line)
			}
		}
	}
	if commands < 10 {
		t.Errorf("%d commands: %s", commands, &out)
	}
}
