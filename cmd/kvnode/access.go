package main

import (
	"strings"

	"tenure/server"
	"tenure/server/audit"
)

// accessRows say who may do what, and where it is written down.
func accessRows(c *server.Config) []row {
	return []row{
		{"acl", boolean(&c.ACL, "false"), "refuse requests that no token allows; the same on all nodes. kvctl acl " +
			"bootstrap makes the first token"},
		{"audit", setting(&c.Audit.Path, "", "file", parseAudit), "write a line of JSON for each write and " +
			"administrative act to this file, or - for standard output"},
		{"audit-file-bytes", size(&c.Audit.FileBytes, 100<<20), "with --audit FILE: move the file away when it has " +
			"this size, 64KiB or more"},
		{"audit-keep", count(&c.Audit.Keep, 10), "with --audit FILE: how many such files to keep, 0 to 10000"},
	}
}

func parseAudit(s string) (string, error) {
	if s == audit.Stdout {
		return s, nil
	}
	return parseFile(s)
}

// checkAccess refuses settings of the audit log that no node would take.
func (s *settings) checkAccess() error {
	a := s.cfg.Audit
	for _, flag := range []string{"audit-file-bytes", "audit-keep"} {
		if s.given(flag) && (a.Path == "" || a.Path == audit.Stdout) {
			return badConfig("%s: it is about a file; name one with --audit FILE", s.name(flag))
		}
	}
	if a.Path == "" {
		return nil
	}
	if err := a.Validate(); err != nil {
		return badConfig("%s: %s", s.name("audit"), strings.TrimPrefix(err.Error(), "audit log: "))
	}
	return nil
}
