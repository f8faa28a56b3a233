package server

import (
	"bytes"
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/server/audit"
	"tenure/server/wire"
)

// A node that joins comes over the port for peers: that is an administrative act too, and is in the audit log.
func TestJoinsAreInTheAuditLog(t *testing.T) {
	var out bytes.Buffer
	log, err := audit.Open(audit.Config{Path: audit.Stdout}, 1, &out, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	n := &node{audit: log}
	m := wire.JoinMsg{Operation: "op-1", Name: "n4", PeerAddr: "10.0.0.4:8300", Replace: "n3"}
	if _, err := n.letIn(t.Context(), m); err == nil {
		t.Fatal("a node that does not serve yet has let another in")
	}
	if err := log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := `"from":"10.0.0.4:8300","act":"members.join","keys":["n4","op-1","n3"],"outcome":"unknown"`
	if !strings.Contains(out.String(), want) {
		t.Errorf("%s, want %s", out.String(), want)
	}
	for outcome, err := range map[audit.Outcome]error{
		audit.Done: nil, audit.NotApplied: refuseToJoin(wire.ReasonJoin, "no"), audit.Unknown: errors.New("lost"),
	} {
		if r := joinRecord(time.Now(), &m, err); r.Outcome != outcome {
			t.Errorf("%v: %s", err, r.Outcome)
		}
	}
}

// A node whose audit log cannot be opened asks nobody to let it in: it would be listed, and not run.
func TestANodeWithoutItsAuditLogDoesNotJoin(t *testing.T) {
	member, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		if c, err := member.Accept(); err == nil {
			c.Close()
			t.Error("it asked")
		}
	}()
	cfg := joinConfig(t)
	cfg.Join = member.Addr().String()
	cfg.Audit = audit.Config{Path: filepath.Join(t.TempDir(), "missing", "audit.json"), FileBytes: 1 << 20}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := Run(ctx, cfg); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "--audit") {
		t.Error(err)
	}
	member.Close()
	<-asked
}
