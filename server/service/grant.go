package service

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"
)

// grant is the data that a client sends to renew or release. It is opaque to the client, and contains all that a node
// needs, so any node can carry it out.
type grant struct {
	acquisition [16]byte
	ttl         time.Duration // whole milliseconds
	token       uint64
	serial      uint64
}

// A grant's text is base64 of
//
//	offset  bytes  content, numbers big-endian
//	0       1      grantVersion
//	1       4      of a hash of name and owner: a grant of another lease is told apart
//	5       16     acquisition
//	21      4      TTL in ms
//	25      8      token
//	33      8      serial
const (
	grantVersion = 1
	grantBytes   = 41
)

var grantText = base64.RawURLEncoding

func (g *grant) text(name, owner string) string {
	b := make([]byte, 0, grantBytes)
	b = append(b, grantVersion)
	b = append(b, grantCheck(name, owner)...)
	b = append(b, g.acquisition[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(g.ttl.Milliseconds()))
	b = binary.BigEndian.AppendUint64(b, g.token)
	b = binary.BigEndian.AppendUint64(b, g.serial)
	return grantText.EncodeToString(b)
}

func readGrant(text, name, owner string) (grant, error) {
	b, err := grantText.DecodeString(text)
	if err != nil || len(b) != grantBytes || b[0] != grantVersion {
		return grant{}, Invalid("Grant %.80q is none: give the one that acquire or the last renew has answered", text)
	}
	if string(b[1:5]) != string(grantCheck(name, owner)) {
		return grant{}, Invalid("the Grant is not of lease %q and Owner %q: "+
			"give the name and the Owner that it was acquired with", name, owner)
	}
	return grant{
		acquisition: [16]byte(b[5:21]), ttl: time.Duration(binary.BigEndian.Uint32(b[21:])) * time.Millisecond,
		token: binary.BigEndian.Uint64(b[25:]), serial: binary.BigEndian.Uint64(b[33:]),
	}, nil
}

func grantCheck(name, owner string) []byte {
	sum := hashTexts("grant", name, owner)
	return sum[:4]
}

// acquisitionOf is N1's owner as the protocol has it: client, its start and acquisition id. The first two are in what
// the client chooses: an owner's text and an acquisition that it never uses again.
func acquisitionOf(owner, acquisition string) [16]byte {
	sum := hashTexts("acquisition", owner, acquisition)
	return [16]byte(sum[:16])
}

// hashTexts hashes texts so that none runs into the next.
func hashTexts(texts ...string) [sha256.Size]byte {
	var buf [512]byte
	b := buf[:0]
	for _, t := range texts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(t)))
		b = append(b, t...)
	}
	return sha256.Sum256(b)
}
