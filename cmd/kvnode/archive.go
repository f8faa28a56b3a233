package main

import (
	"time"

	"github.com/spf13/pflag"

	"tenure/internal/days"
	"tenure/server"
	"tenure/server/archive"
	"tenure/server/backup/target"
)

// leastArchiveEvery is the shortest time between two full copies or verifications.
const leastArchiveEvery = time.Minute

// archiveSettings say where the cluster is archived, and how.
type archiveSettings struct {
	target                       string
	recipients                   []string
	identity                     string
	fullEvery, keep, verifyEvery time.Duration
}

func (a *archiveSettings) rows() []row {
	length := func(to *time.Duration, def string) pflag.Value { return setting(to, def, "duration", days.Parse) }
	return []row{
		{"archive", text(&a.target, "target"), "archive the cluster to this directory or bucket " +
			"(s3://BUCKET/PREFIX), one node at a time of those that are told so"},
		{"archive-recipient", setting(&a.recipients, "", "list", parseList), "with --archive: encrypt to these age " +
			"recipients, age1…,…; the same on all nodes"},
		{"archive-identity", text(&a.identity, "file"), "with --archive-recipient: file of age identities, without " +
			"which this node cannot verify what it has encrypted"},
		{"archive-full-every", length(&a.fullEvery, "24h"), "with --archive: time between two full copies, 1m or more"},
		{"archive-keep", length(&a.keep, "7d"), "with --archive: how far back every revision can be restored"},
		{"archive-verify-every", length(&a.verifyEvery, "24h"), "with --archive: time between two verifications, " +
			"which restore the newest full copy and what came after it, 1m or more"},
	}
}

// checkArchive refuses settings of an archive that no node would take.
func (s *settings) checkArchive() error {
	a := &s.archive
	for _, every := range []struct {
		flag string
		d    time.Duration
	}{{"archive-full-every", a.fullEvery}, {"archive-verify-every", a.verifyEvery}} {
		switch {
		case a.target == "" && s.given(every.flag):
			return badConfig("%s: it needs --archive; name a directory or s3://BUCKET/PREFIX", s.name(every.flag))
		case every.d < leastArchiveEvery:
			return badConfig("%s %v: %s >= %v must hold; use 24h", s.name(every.flag), every.d, every.flag,
				leastArchiveEvery)
		}
	}
	for _, flag := range []string{"archive-keep", "archive-recipient", "archive-identity"} {
		if a.target == "" && s.given(flag) {
			return badConfig("%s: it needs --archive; name a directory or s3://BUCKET/PREFIX", s.name(flag))
		}
	}
	if a.identity != "" && len(a.recipients) == 0 {
		return badConfig("%s: it needs --archive-recipient, to whom the archive is encrypted",
			s.name("archive-identity"))
	}
	if a.keep < a.fullEvery {
		return badConfig("%s %v: archive-keep >= archive-full-every must hold, and %s is %v; raise the first or "+
			"lower the second", s.name("archive-keep"), a.keep, s.name("archive-full-every"), a.fullEvery)
	}
	return nil
}

// open returns where the cluster is archived. Nothing is asked of the target.
func (a *archiveSettings) open(s *sources) (server.Archive, error) {
	if a.target == "" {
		return server.Archive{}, nil
	}
	recipients, err := target.Recipients(a.recipients, nil)
	if err != nil {
		return server.Archive{}, badConfig("%s: %v", s.name("archive-recipient"), err)
	}
	var files []string
	if a.identity != "" {
		files = []string{a.identity}
	}
	identities, err := target.Identities(files)
	if err != nil {
		return server.Archive{}, badConfig("%s: %v", s.name("archive-identity"), err)
	}
	x, err := target.Open(a.target, target.Config{Recipients: recipients, Identities: identities})
	if err != nil {
		return server.Archive{}, badConfig("%s: %v", s.name("archive"), err)
	}
	readable := len(recipients) == 0 || len(identities) > 0
	return server.Archive{Target: x, Readable: readable, Schedule: archive.Schedule{FullEvery: a.fullEvery,
		Keep: a.keep, VerifyEvery: a.verifyEvery}}, nil
}
