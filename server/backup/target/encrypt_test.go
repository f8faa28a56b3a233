package target

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"filippo.io/age"
)

func newIdentity(t testing.TB) *age.X25519Identity {
	t.Helper()
	i, err := age.GenerateX25519Identity()
	must(t, err)
	return i
}

func TestAnEncryptedTarget(t *testing.T) {
	own, second, other := newIdentity(t), newIdentity(t), newIdentity(t)
	recipients := []age.Recipient{own.Recipient(), second.Recipient()}
	below := opened(t, t.TempDir())
	contract(t, Encrypted(below, recipients, []age.Identity{other, second}))
	for _, name := range names(t, below, "") {
		text := get(t, below, name)
		if !strings.HasSuffix(name, ".age") || !strings.HasPrefix(text, "age-encryption.org/v1\n") {
			t.Errorf("%s begins with %.30q", name, text)
		}
	}
	for _, c := range []struct {
		identities []age.Identity
		want       error
	}{{nil, ErrNoIdentity}, {[]age.Identity{other}, ErrWrongIdentity}} {
		if _, err := Encrypted(below, recipients, c.identities).Get(t.Context(), "b"); !errors.Is(err, c.want) {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
	err := Encrypted(below, recipients, nil).Put(t.Context(), "a.age", strings.NewReader(""))
	if !errors.Is(err, ErrName) {
		t.Errorf("%v", err)
	}
}

// TestOlderObjectsWithoutEncryption: they are found and read, and replaced by encrypted ones, and the other way round.
func TestOlderObjectsWithoutEncryption(t *testing.T) {
	own := newIdentity(t)
	root := t.TempDir()
	plain := opened(t, root)
	x, err := Open(root, Config{Recipients: []age.Recipient{own.Recipient()}, Identities: []age.Identity{own}})
	must(t, err)
	readOnly, err := Open(root, Config{Identities: []age.Identity{own}})
	must(t, err)
	put := func(to Target, name, text string) {
		t.Helper()
		must(t, to.Put(t.Context(), name, strings.NewReader(text)))
	}
	put(plain, "a", "old")
	put(plain, "b", "old")
	put(x, "a", "new")
	put(x, "c", "new")
	if get(t, x, "a") != "new" || get(t, x, "b") != "old" || get(t, readOnly, "c") != "new" {
		t.Error("wrong content")
	}
	if got := names(t, plain, ""); !slices.Equal(got, []string{"a", "a.age", "b", "c.age"}) {
		t.Errorf("%q", got)
	}
	put(readOnly, "c", "plain")
	put(plain, "c.age", "left by a process that died before it deleted it") // is what is read and listed
	if list, err := x.List(t.Context(), "c"); err != nil || len(list) != 1 || list[0].Bytes < 10 ||
		list[0].Name != "c" {
		t.Errorf("%v %v", list, err)
	}
	must(t, x.Delete(t.Context(), "c"))
	must(t, x.Delete(t.Context(), "a"))
	if got := names(t, plain, ""); !slices.Equal(got, []string{"b"}) {
		t.Errorf("%q", got)
	}
}

// TestEveryChangeOfAnEncryptedObjectIsNoticed cuts it off everywhere, and flips bits.
func TestEveryChangeOfAnEncryptedObjectIsNoticed(t *testing.T) {
	own := newIdentity(t)
	r, err := age.EncryptReader(strings.NewReader("some text"), own.Recipient())
	must(t, err)
	all, err := io.ReadAll(r)
	must(t, err)
	read := func(r io.Reader) error {
		plain, err := Decrypt(r, []age.Identity{own})
		if err == nil {
			_, err = io.ReadAll(plain)
		}
		return err
	}
	must(t, read(strings.NewReader(string(all))))
	for i := range all {
		flipped := slices.Clone(all)
		flipped[i] ^= 1 << (i % 7)
		for _, b := range [][]byte{all[:i], flipped} {
			if err := read(strings.NewReader(string(b))); !errors.Is(err, ErrDecrypt) &&
				!errors.Is(err, ErrWrongIdentity) {
				t.Errorf("byte %d of %d: %v", i, len(all), err)
			}
		}
		broken := errors.New("the network is gone")
		source := io.MultiReader(strings.NewReader(string(all[:i])), iotest.ErrReader(broken))
		if err := read(source); !errors.Is(err, broken) || errors.Is(err, ErrDecrypt) {
			t.Errorf("after %d bytes: %v", i, err)
		}
	}
}

func TestKeys(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		must(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	i, j := newIdentity(t), newIdentity(t)
	list := file("r", "# ours\n"+j.Recipient().String()+"\n")
	recipients, err := Recipients([]string{i.Recipient().String()}, []string{list})
	if err != nil || len(recipients) != 2 {
		t.Errorf("%v %v", recipients, err)
	}
	identities, err := Identities([]string{file("i", "# created\n"+i.String()+"\n"), file("j", j.String())})
	if err != nil || len(identities) != 2 {
		t.Errorf("%v %v", identities, err)
	}
	if r, err := Recipients(nil, []string{file("m", "\ufeff"+i.Recipient().String()+"\r\n")}); err != nil || len(r) != 1 {
		t.Errorf("a byte order mark: %v %v", r, err)
	}
	secret := i.String()
	cut := file("t", secret[:len(secret)-1])
	for what, err := range map[string]error{
		"begins with age1; what was given is a secret key": second(Recipients([]string{secret}, nil)),
		`"age1": it is no age1`:                            second(Recipients([]string{"age1"}, nil)),
		"file of recipients " + dir + "/s: ":               second(Recipients(nil, []string{file("s", secret)})),
		"no such file":                                     second(Recipients(nil, []string{dir + "/none"})),
		"/u: it is UTF-16":                                 second(Identities([]string{file("u", "\xff\xfeA\x00")})),
		"it has no AGE-SECRET-KEY-1":                       second(Identities([]string{cut})),
		"file of identities " + dir + "/none":              second(Identities([]string{dir + "/none"})),
	} {
		if !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), what) ||
			strings.Contains(err.Error(), secret[20:40]) {
			t.Errorf("%v, want %s", err, what)
		}
	}
}

func second[T any](_ T, err error) error { return err }
