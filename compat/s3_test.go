package compat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"filippo.io/age"
	"github.com/hashicorp/consul/api"

	"tenure/internal/freeport"
	"tenure/jepsen/cluster"
)

// withKeys is the environment in which kvctl and kvnode find the credentials of the gateway.
func withKeys(key, secret string, more ...string) []string {
	return append(append(os.Environ(), more...), "AWS_ACCESS_KEY_ID="+key, "AWS_SECRET_ACCESS_KEY="+secret,
		"AWS_REGION=us-east-1", "AWS_ENDPOINT_URL=", "AWS_ENDPOINT_URL_S3=")
}

// ran is what became of a program.
type ran struct {
	code        int
	out, errOut string
}

func execute(env []string, name string, args ...string) ran {
	var out, errOut bytes.Buffer
	cmd := exec.Command(program(name), args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &errOut
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return ran{-1, "", err.Error()}
	}
	return ran{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// kvctl runs kvctl against the cluster with the credentials of the gateway.
func kvctl(c *cluster.Cluster, args ...string) ran {
	return execute(withKeys(s3Key, s3Secret, "KVCTL_ENDPOINTS="+c.Nodes()[0].Client), "kvctl", args...)
}

func (r ran) wants(t *testing.T, code int, texts ...string) {
	t.Helper()
	for _, text := range append(texts, "") {
		if r.code != code || !strings.Contains(r.out+r.errOut, text) || strings.Contains(r.out+r.errOut, s3Secret) {
			t.Fatalf("exit %d, want %d and %q: %s%s", r.code, code, text, r.out, r.errOut)
		}
	}
}

// filled is a cluster with 40 values of half a mebibyte: a backup of it is two parts of an upload.
func filled(t *testing.T) *cluster.Cluster {
	t.Helper()
	c := start(t)
	kv := dial(t, c.Nodes()[0]).KV()
	for i := range 40 {
		_, err := kv.Put(&api.KVPair{Key: fmt.Sprintf("big/%02d", i), Value: bytes.Repeat([]byte{byte(i)}, 500_000)}, nil)
		must(t, err)
	}
	return c
}

// TestS3Target runs the tests that package target has for buckets.
func TestS3Target(t *testing.T) {
	g := startGateway(t, filepath.Join(t.TempDir(), "s3"))
	cmd := exec.Command("go", "test", "-count=1", "-v", "-run", "^TestRealBucket", "./server/backup/target")
	cmd.Dir, cmd.Env = "..", withKeys(s3Key, s3Secret, "TENURE_TEST_S3="+bucketURL(g.addr, ""))
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS") < 4 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestS3Backups makes encrypted backups in a bucket, lists, verifies, prunes and restores them.
func TestS3Backups(t *testing.T) {
	c := filled(t)
	g := startGateway(t, filepath.Join(t.TempDir(), "s3"))
	here := bucketURL(g.addr, "/a/prefix")
	keys := t.TempDir()
	identity := func(name string) (file, recipient string) {
		i, err := age.GenerateX25519Identity()
		must(t, err)
		file = filepath.Join(keys, name)
		must(t, os.WriteFile(file, []byte(i.String()+"\n"), 0o600))
		return file, i.Recipient().String()
	}
	own, recipient := identity("own")
	other, _ := identity("other")

	kvctl(c, "backup", "verify", "--newest", here).wants(t, 1, "nothing was verified")
	for i := range 3 {
		kvctl(c, "set", "n", fmt.Sprint(i)).wants(t, 0)
		kvctl(c, "backup", "create", here, "--recipient", recipient).wants(t, 0, "\nfile      s3://backups/a/prefix/tenure-")
	}
	listed := kvctl(c, "backup", "list", here, "--json")
	listed.wants(t, 0)
	var list []struct {
		Name      string
		Bytes     int64
		Encrypted bool
	}
	must(t, json.Unmarshal([]byte(listed.out), &list))
	if len(list) != 3 || !list[0].Encrypted || list[0].Bytes < 20_000_000 {
		t.Fatalf("%+v", list)
	}
	kvctl(c, "backup", "verify", "--newest", here).wants(t, 1, "give --identity FILE")
	kvctl(c, "backup", "verify", "--newest", here, "--identity", other).wants(t, 1, "encrypted to others")
	kvctl(c, "backup", "verify", "--newest", here, "--identity", own, "--restore").wants(t, 0, "all records are there")
	kvctl(c, "backup", "prune", here, "--keep-last", "1").wants(t, 0, "1 kept, 2 deleted")
	newest := bucketURL(g.addr, "/a/prefix/"+list[0].Name)
	kvctl(c, "backup", "verify", newest, "--identity", own).wants(t, 0)
	kvctl(c, "backup", "verify", bucketURL(g.addr, "/a/prefix/"+list[1].Name), "--identity", own).wants(t, 1, "not found")

	data := filepath.Join(t.TempDir(), "new")
	env := withKeys(s3Key, s3Secret)
	execute(env, "kvnode", "restore", newest, "--data", data, "--identity", other).wants(t, 1, "encrypted to others")
	execute(env, "kvnode", "restore", newest, "--data", data, "--identity", own).wants(t, 0, "Start it")
	port, err := freeport.Run(2)
	must(t, err)
	node := exec.Command(program("kvnode"), "--data", data, "--peer", freeport.Address(port),
		"--client", freeport.Address(port+1), "--insecure", "--log-level", "warn")
	must(t, node.Start())
	t.Cleanup(func() { _, _ = node.Process.Kill(), node.Wait() })
	restored := withKeys(s3Key, s3Secret, "KVCTL_ENDPOINTS="+freeport.Address(port+1))
	eventually(t, func() bool { return execute(restored, "kvctl", "get", "n").out == "2" })
	for _, args := range [][]string{{"count"}, {"get", "--prefix", "big/"}} {
		if was, is := kvctl(c, args...), execute(restored, "kvctl", args...); was.code != 0 || was.out != is.out {
			t.Errorf("%q: %d bytes, and %d after the restore", args, len(was.out), len(is.out))
		}
	}
}

// TestS3IsClearAboutWhatIsWrong has kvctl say what to do.
func TestS3IsClearAboutWhatIsWrong(t *testing.T) {
	c := start(t)
	g := startGateway(t, filepath.Join(t.TempDir(), "s3"))
	endpoint := "KVCTL_ENDPOINTS=" + c.Nodes()[0].Client
	create := func(env []string, to string) ran { return execute(env, "kvctl", "backup", "create", to) }
	here := bucketURL(g.addr, "")
	create(withKeys(s3Key, "wrong", endpoint), here).wants(t, 1, "access denied", "correct AWS_SECRET_ACCESS_KEY")
	create(withKeys("nobody", s3Secret, endpoint), here).wants(t, 1, "access denied", "correct AWS_ACCESS_KEY_ID")
	none := strings.Replace(here, s3Bucket, "none", 1)
	create(withKeys(s3Key, s3Secret, endpoint), none).wants(t, 1, "the target is not there", "make the bucket")
	g.kill()
	create(withKeys(s3Key, s3Secret, endpoint), here).wants(t, 1, "the target does not answer", "does the server run")
}

// TestS3WithoutAnEnd kills first kvctl and then the gateway in the middle of an upload: nothing of it is a backup.
func TestS3WithoutAnEnd(t *testing.T) {
	c := filled(t)
	g := startGateway(t, filepath.Join(t.TempDir(), "s3"))
	here := bucketURL(g.addr, "")
	begin := func() (*dam, *exec.Cmd, *bytes.Buffer) {
		d := newDam(t, g.addr, 18<<20) // in the second part
		cmd := exec.Command(program("kvctl"), "backup", "create", bucketURL(d.addr(), ""))
		cmd.Env = withKeys(s3Key, s3Secret, "KVCTL_ENDPOINTS="+c.Nodes()[0].Client)
		var errOut bytes.Buffer
		cmd.Stderr = &errOut
		must(t, cmd.Start())
		<-d.full
		return d, cmd, &errOut
	}
	nothing := func() {
		t.Helper()
		if r := kvctl(c, "backup", "list", here); r.code != 0 || r.out != "" {
			t.Errorf("%+v", r)
		}
		kvctl(c, "backup", "verify", "--newest", here).wants(t, 1, "there is no backup")
	}
	d, cmd, _ := begin()
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	close(d.open)
	nothing()

	d, cmd, errOut := begin()
	g.kill()
	close(d.open)
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(errOut.String(), "the target does not answer") {
		t.Errorf("exit %d, %s", cmd.ProcessState.ExitCode(), errOut)
	}
	g.start()
	nothing()
	kvctl(c, "backup", "create", here).wants(t, 0)
	kvctl(c, "backup", "verify", "--newest", here, "--restore").wants(t, 0)
}

// TestFullTargets: neither a directory nor a bucket that runs full keeps anything of a backup.
func TestFullTargets(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount a small file system")
	}
	small := t.TempDir()
	must(t, syscall.Mount("tmpfs", small, "tmpfs", 0, "size=8m"))
	t.Cleanup(func() { must(t, syscall.Unmount(small, syscall.MNT_DETACH)) })
	c := filled(t)
	dir := filepath.Join(small, "dir")
	must(t, os.Mkdir(dir, 0o700))
	kvctl(c, "backup", "create", dir).wants(t, 1, "the target is full", "free space there")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
	g := startGateway(t, filepath.Join(small, "s3"))
	r := kvctl(c, "backup", "create", bucketURL(g.addr, ""))
	t.Logf("%s", r.errOut)
	r.wants(t, 1, "the target")
	if r := kvctl(c, "backup", "list", bucketURL(g.addr, "")); r.code != 0 || r.out != "" {
		t.Errorf("%+v", r)
	}
}
