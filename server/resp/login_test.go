package resp

import (
	"crypto/tls"
	"strings"
	"testing"

	"tenure/api"
	"tenure/internal/certs"
	"tenure/internal/certs/certstest"
	"tenure/kv"
)

func TestLogin(t *testing.T) {
	g := newGuarded(t)
	app := g.may("app", `key "k" { policy = "write" }`)
	const wrong = errWrongPass + ": there is no token with this secret"
	s := g.as("")
	s.want("ACL WHOAMI", api.AnonymousAccessor)
	s.want("AUTH nobody", "-"+wrong)
	s.want(`AUTH ""`, "-"+wrong)
	s.want("AUTH "+app, "-"+wrong) // an accessor is no secret
	s.want("AUTH "+strings.Repeat("x", api.MaxSecretBytes+1), "-ERR the secret has 257 bytes: at most 256 are accepted")
	s.want("AUTH a b c", "-"+errSyntax)
	s.wantPrefix("-NOAUTH ", "GET k")
	s.want("AUTH app", "OK")
	s.want("ACL WHOAMI", app)
	s.want("AUTH default nobody", "-"+wrong) // and who has logged in stays who they are
	s.want("SET k 1", "OK")
	s.want("AUTH whoever root", "OK")
	s.want("SET other 1", "OK")
	s.want("RESET", "RESET")
	s.want("ACL WHOAMI", api.AnonymousAccessor)
	s.wantPrefix("-NOAUTH ", "GET k")
	s.wantPrefix("-WRONGPASS ", "HELLO 3 AUTH default nobody SETNAME x")
	s.want("CLIENT GETNAME", "nil")
	s.wantPrefix("-ERR Syntax error", "HELLO 3 AUTH default")
	s.wantPrefix("[server redis", "HELLO 3 SETNAME x AUTH default app")
	s.send("CLIENT LIST")
	if got := s.reply(); !strings.Contains(got, " user="+app+" ") || !strings.Contains(got, " name=x ") {
		t.Error(got)
	}
	s.want("ACL CAT", "-"+errACL)
	s.wantPrefix("OK", "MULTI")
	s.want("AUTH app", "-ERR auth is not possible in a transaction")
}

// The anonymous token is who has not logged in, and may have policies.
func TestTheAnonymousToken(t *testing.T) {
	g := newGuarded(t)
	policy := g.policy(`key_prefix "open/" { policy = "read" }`)
	g.apply(t, kv.PutToken(kv.Token{Accessor: kv.AnonymousToken, Policies: []string{policy}}, false))
	s := g.as("")
	s.want("GET open/a", "nil")
	s.wantPrefix("-NOAUTH Authentication required: anonymous token lacks permission 'key:write'", "SET open/a 1")
}

func TestWithoutTokensThereIsNoLogin(t *testing.T) {
	s := dial(t, start(t, newFake(t), Config{}))
	s.want("AUTH x", "-"+errNoTokens)
	s.wantPrefix("-WRONGPASS", "AUTH ann x")
	s.wantPrefix("-WRONGPASS", "HELLO 3 AUTH ann x")
	s.want("AUTH default x", "OK") // as a URL with a user has it
	s.wantPrefix("[server redis", "HELLO 3 AUTH default x")
	s.want("ACL WHOAMI", "default")
	s.want("SET k 1", "OK")
}

// A certificate that was proven stands for its token, until a secret is sent.
func TestACertificateStandsForAToken(t *testing.T) {
	ca := certstest.New(t, "prod")
	c := certs.Clients{Files: certstest.Load(t, ca.Node(t, "n1")), MinVersion: tls.VersionTLS13,
		Authorities: certstest.Load(t, certs.Paths{CA: ca.Bundle})}
	g := newGuarded(t, func(cfg *Config) { cfg.TLS = c.Config() })
	app := g.token("app", kv.Token{Policies: []string{g.policy(`key "k" { policy = "write" }`)},
		Certificate: "tenure://prod/client/app"})
	connect := func(pairs ...tls.Certificate) *session {
		t.Helper()
		nc, err := tls.Dial("tcp", g.Addr(), &tls.Config{RootCAs: ca.Pool(t), Certificates: pairs})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nc.Close() })
		return newSession(t, nc)
	}
	s := connect(*certstest.Load(t, ca.Client(t, "app")).Certificate())
	s.want("ACL WHOAMI", app)
	s.want("SET k 1", "OK")
	s.wantPrefix("-NOPERM ", "SET other 1")
	if line := g.lines(2)[0]; !strings.Contains(line, `"certificate":"tenure://prod/client/app"`) {
		t.Errorf("the audit log: %s", line)
	}
	s.want("AUTH root", "OK")
	s.want("SET other 1", "OK")
	s.want("RESET", "RESET")
	s.want("ACL WHOAMI", app)
	g.apply(t, kv.DropToken(app)) // then it is as good as none
	s.wantPrefix("-NOAUTH Authentication required: anonymous token", "SET k 2")
	for _, s := range []*session{connect(), connect(*certstest.Load(t, ca.Client(t, "other")).Certificate())} {
		s.want("ACL WHOAMI", api.AnonymousAccessor)
	}
}
