package main

import (
	"path/filepath"
	"strings"

	"tenure/server/audit"
)

// accessSettings say who may do what, and where it is written down.
type accessSettings struct {
	acl        bool
	audit      string // file, or audit.Stdout
	auditBytes int64
	auditKeep  int
}

// addAccess adds the flags of tokens and of the audit log.
func (s *settings) addAccess() {
	f := s.flags
	f.Var(setting(&s.access.acl, "false", "bool", parseBool), "acl",
		"refuse requests that no token allows; the same on all nodes. kvctl acl bootstrap makes the first token")
	f.Var(setting(&s.access.audit, "", "file", parseAudit), "audit",
		"write a line of JSON for each write and administrative act to this file, or - for standard output")
	f.Var(setting(&s.access.auditBytes, "100MiB", "bytes", parseBytes), "audit-file-bytes",
		"with --audit FILE: move the file away when it has this size, 64KiB or more")
	f.Var(setting(&s.access.auditKeep, "10", "number", parseCount), "audit-keep",
		"with --audit FILE: how many such files to keep, 0 to 10000")
}

func parseAudit(s string) (string, error) {
	if s == "" || s == audit.Stdout {
		return s, nil
	}
	return filepath.Abs(s)
}

// checkAccess refuses settings of the audit log that no node would take.
func (s *settings) checkAccess() error {
	for _, flag := range []string{"audit-file-bytes", "audit-keep"} {
		if s.given(flag) && (s.access.audit == "" || s.access.audit == audit.Stdout) {
			return badConfig("%s: it is about a file; name one with --audit FILE", s.name(flag))
		}
	}
	if s.access.audit == "" {
		return nil
	}
	if err := s.serverAudit().Validate(); err != nil {
		return badConfig("%s: %s", s.name("audit"), strings.TrimPrefix(err.Error(), "audit log: "))
	}
	return nil
}

// serverAudit returns what the server is told.
func (s *settings) serverAudit() audit.Config {
	if s.access.audit == "" {
		return audit.Config{}
	}
	return audit.Config{Path: s.access.audit, FileBytes: s.access.auditBytes, Keep: s.access.auditKeep}
}
