package service

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"
)

// Grants are kept by clients and read by any node, of any version: their bytes stay as they are.
func TestGrantsKeepTheirLayout(t *testing.T) {
	g := grant{acquisition: [16]byte{0: 0xa0, 15: 0xaf}, ttl: 1500 * time.Millisecond, token: 0x0102030405060708, serial: 0x1112131415161718}
	text := g.text("name", "owner")
	b, err := grantText.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	check := hex.EncodeToString(b[1:5])
	if want := "01" + check + "a00000000000000000000000000000af" + "000005dc" + "0102030405060708" + "1112131415161718"; hex.EncodeToString(b) != want {
		t.Errorf("%x, was %s", b, want)
	}
	if got, err := readGrant(text, "name", "owner"); err != nil || got != g {
		t.Errorf("%+v, %v", got, err)
	}
	for at := range 5 {
		b[at]++
		if got, err := readGrant(grantText.EncodeToString(b), "name", "owner"); err == nil {
			t.Errorf("with another byte %d: %+v", at, got)
		}
		b[at]--
	}
	for _, other := range []string{text[1:], text + "AA", "", "*" + text[1:]} {
		if got, err := readGrant(other, "name", "owner"); err == nil {
			t.Errorf("%s: %+v", other, got)
		}
	}
}

// An acquisition and a grant's check come out the same on every node and in every version.
func TestAcquisitionsAndChecksStay(t *testing.T) {
	a := acquisitionOf("o", "mine")
	if got := hex.EncodeToString(a[:]) + " " + hex.EncodeToString(grantCheck("n", "o")); got != "fdd444534f225602b7e358f556cd14b4 1c4629bd" {
		t.Errorf("%s", got)
	}
	long := strings.Repeat("x", 600)
	if acquisitionOf(long, "a") == acquisitionOf(long, "b") || acquisitionOf(long+"a", "") == acquisitionOf(long+"b", "") {
		t.Error("long texts are cut")
	}
	if acquisitionOf("o", "mine") == acquisitionOf("om", "ine") {
		t.Error("owner and acquisition run into each other")
	}
}
