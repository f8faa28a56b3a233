package compat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tenure/internal/freeport"
	"tenure/jepsen/cluster"
)

// settle is how long Patroni may take for what waits for a session to end: its TTL of 10 s counts twice.
const settle = 90 * time.Second

// TestPatroni lets Patroni keep two PostgreSQL servers, one primary and one replica, by a session and a lock in Tenure.
// It is asked for by TENURE_COMPAT_PATRONI=1, as root, on Debian with patroni, python3-consul and postgresql installed.
//
// A change of Tenure's master must not cost the primary its role. The death of the primary must promote the replica,
// with all that was committed.
func TestPatroni(t *testing.T) {
	if os.Getenv("TENURE_COMPAT_PATRONI") == "" {
		t.Skip("takes minutes: TENURE_COMPAT_PATRONI=1 asks for it")
	}
	c := start(t)
	_, others := roles(t, c)
	one, two := newPostgres(t, "one", at(others[0])), newPostgres(t, "two", at(others[1]))
	one.start()
	one.await("primary")
	two.start()
	two.await("replica")
	one.sql("CREATE TABLE kept (n int)")
	for round := range 5 {
		killOnly(t, c, others)
		began := time.Now()
		one.sql(fmt.Sprintf("INSERT INTO kept VALUES (%d)", round))
		for time.Since(began) < 3*loopWait { // each has looked at its lock meanwhile
			if s := one.status(); s.Role != "master" && s.Role != "primary" || s.Timeline != 1 || s.State != "running" {
				t.Fatalf("round %d: the primary is %+v", round, s)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	two.eventuallySQL("SELECT count(*) FROM kept", "5")

	began := time.Now()
	one.kill()
	two.await("primary")
	t.Logf("the replica was promoted %v after its primary was killed", time.Since(began).Round(time.Second))
	if got := two.sql("SELECT count(*) FROM kept"); got != "5" {
		t.Errorf("%s rows survived, want 5", got)
	}
	one.start()
	two.sql("INSERT INTO kept VALUES (5)")
	one.eventuallySQL("SELECT count(*) FROM kept", "6") // a replica again, rewound to where the other took over
	one.await("replica")
	out, err := exec.Command("patronictl", "-c", one.config, "switchover", "--master", "two", "--candidate", "one", "--force").CombinedOutput()
	if err != nil {
		t.Fatalf("patronictl switchover: %v\n%s", err, out)
	}
	one.await("primary")
	two.await("replica")
	one.sql("INSERT INTO kept VALUES (6)")
	two.eventuallySQL("SELECT count(*) FROM kept", "7")
}

// TestPatroniOverTLS is a short TestPatroni with nodes that want certificates and a token. The token allows no more than
// Patroni needs: the keys of its cluster, and sessions.
func TestPatroniOverTLS(t *testing.T) {
	if os.Getenv("TENURE_COMPAT_PATRONI") == "" {
		t.Skip("takes a minute or more: TENURE_COMPAT_PATRONI=1 asks for it")
	}
	c := startGuarded(t)
	_, others := roles(t, c.Cluster)
	token := c.token(t, others[0], "patroni", `key_prefix "service/tenure-test/" { policy = "write" }
		session_prefix "" { policy = "write" }`)
	with := func(n *cluster.Node) string { return fmt.Sprintf("%s, token: %q", at(n), token.SecretID) }
	one := newPostgres(t, "one", with(others[0]), c.ca, c.cert, c.key)
	two := newPostgres(t, "two", with(others[1]), c.ca, c.cert, c.key)
	one.start()
	one.await("primary")
	two.start()
	two.await("replica")
	one.sql("CREATE TABLE kept (n int)")
	two.eventuallySQL("SELECT count(*) FROM kept", "0")
	one.kill()
	two.await("primary")
}

// at returns what tells Patroni of a node, without certificates.
func at(n *cluster.Node) string { return fmt.Sprintf("host: %q", n.Client) }

// loopWait is how often Patroni looks at its cluster.
const loopWait = 2 * time.Second

// postgres is a PostgreSQL server and the Patroni that keeps it.
type postgres struct {
	t                 *testing.T
	name, dir, config string
	port, rest        int
	credential        *syscall.Credential
	patroni           *exec.Cmd
}

// newPostgres makes a server whose Patroni knows Tenure by some settings, and by files of an authority, a certificate
// and a key if they are given.
func newPostgres(t *testing.T, name, consul string, files ...string) *postgres {
	t.Helper()
	account, err := user.Lookup("postgres")
	must(t, err)
	uid, _ := strconv.Atoi(account.Uid)
	gid, _ := strconv.Atoi(account.Gid)
	bin, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(bin) == 0 {
		t.Fatal("there is no PostgreSQL under /usr/lib/postgresql")
	}
	port, err := freeport.Run(2)
	must(t, err)
	dir, err := os.MkdirTemp("", "tenure-patroni-") // outside t.TempDir, whose parents are closed to other users
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chown(dir, uid, gid))
	for i, setting := range []string{"cacert", "cert", "key"}[:len(files)] {
		own := filepath.Join(dir, setting) // where the server's user can read it
		must(t, os.WriteFile(own, []byte(text(t, files[i])), 0o600))
		must(t, os.Chown(own, uid, gid))
		consul += fmt.Sprintf(", %s: %s", setting, own)
	}
	if len(files) > 0 {
		consul += ", scheme: https, verify: true"
	}
	p := &postgres{t: t, name: name, dir: dir, config: filepath.Join(dir, "patroni.yml"), port: port, rest: port + 1,
		credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	settings := fmt.Sprintf(`scope: tenure-test
name: %[1]s
restapi: {listen: "127.0.0.1:%[2]d", connect_address: "127.0.0.1:%[2]d"}
consul: {%[3]s}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: %[7]d
    retry_timeout: 5
    postgresql: {use_pg_rewind: true, parameters: {fsync: "off"}}
  initdb: [data-checksums, {encoding: UTF8}, {locale: C}]
postgresql:
  listen: "127.0.0.1:%[4]d"
  connect_address: "127.0.0.1:%[4]d"
  data_dir: %[5]s/data
  bin_dir: %[6]s
  pgpass: %[5]s/pgpass
  parameters: {unix_socket_directories: %[5]s}
  pg_hba: ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust", "local all all trust"]
  authentication:
    superuser: {username: postgres}
    replication: {username: replicator}
`, name, p.rest, consul, p.port, dir, bin[len(bin)-1], int(loopWait/time.Second))
	must(t, os.WriteFile(p.config, []byte(settings), 0o644))
	return p
}

func (p *postgres) start() {
	p.t.Helper()
	log, err := os.OpenFile(filepath.Join(p.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	must(p.t, err)
	defer log.Close()
	p.patroni = exec.Command("patroni", p.config)
	p.patroni.Dir, p.patroni.Stdout, p.patroni.Stderr = p.dir, log, log
	p.patroni.SysProcAttr = &syscall.SysProcAttr{Credential: p.credential, Setpgid: true}
	must(p.t, p.patroni.Start())
	p.t.Cleanup(func() {
		p.kill()
		if text, _ := os.ReadFile(log.Name()); p.t.Failed() {
			p.t.Logf("Patroni of %s:\n%s", p.name, text[max(0, len(text)-20<<10):])
		}
	})
}

// kill ends Patroni and PostgreSQL with SIGKILL.
func (p *postgres) kill() {
	if p.patroni == nil {
		return
	}
	_ = p.patroni.Process.Kill()
	_ = p.patroni.Wait()
	p.patroni = nil
	text, err := os.ReadFile(filepath.Join(p.dir, "data", "postmaster.pid"))
	if err != nil {
		return
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if pid, err := strconv.Atoi(line); err == nil && pid > 1 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

type patroniStatus struct {
	State, Role string
	Timeline    int
}

// status is what Patroni says of its server.
func (p *postgres) status() (s patroniStatus) {
	p.t.Helper()
	rsp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/patroni", p.rest))
	must(p.t, err)
	defer rsp.Body.Close()
	must(p.t, json.NewDecoder(rsp.Body).Decode(&s))
	return s
}

// await waits until Patroni says that its server has this role, and works.
func (p *postgres) await(role string) {
	p.t.Helper()
	for began := time.Now(); ; {
		rsp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/%s", p.rest, role))
		if err == nil {
			_, _ = io.Copy(io.Discard, rsp.Body)
			rsp.Body.Close()
			if rsp.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Since(began) > settle {
			p.t.Fatalf("%s is no %s after %v: %v", p.name, role, settle, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (p *postgres) try(query string) (string, error) {
	out, err := exec.Command("psql", "-h", "127.0.0.1", "-p", strconv.Itoa(p.port), "-U", "postgres", "-qtAXc", query).CombinedOutput()
	if err != nil {
		err = errors.Join(err, errors.New(string(out)))
	}
	return strings.TrimSpace(string(out)), err
}

func (p *postgres) sql(query string) string {
	p.t.Helper()
	out, err := p.try(query)
	if err != nil {
		p.t.Fatalf("%s: %s: %v", p.name, query, err)
	}
	return out
}

// eventuallySQL waits for an answer: a replica follows in its own time.
func (p *postgres) eventuallySQL(query, want string) {
	p.t.Helper()
	for began := time.Now(); ; {
		got, err := p.try(query)
		if err == nil && got == want {
			return
		}
		if time.Since(began) > settle {
			p.t.Fatalf("%s: %s: %q, %v after %v, want %q", p.name, query, got, err, settle, want)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
