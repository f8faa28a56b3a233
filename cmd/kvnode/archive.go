package main

import (
	"time"

	"filippo.io/age"

	"tenure/server"
	"tenure/server/archive"
	"tenure/server/backup/target"
)

// leastArchiveEvery is the shortest time between two full copies or verifications.
const leastArchiveEvery = time.Minute

// checkArchive refuses settings of an archive that no node would take.
func (s *settings) checkArchive() error {
	for _, every := range []struct {
		flag string
		d    time.Duration
	}{{"archive-full-every", s.archiveFullEvery}, {"archive-verify-every", s.archiveVerifyEvery}} {
		switch {
		case s.archive == "" && s.given(every.flag):
			return badConfig("%s: it needs --archive; name a directory or s3://BUCKET/PREFIX", s.name(every.flag))
		case every.d < leastArchiveEvery:
			return badConfig("%s %v: %s >= %v must hold; use 24h", s.name(every.flag), every.d, every.flag,
				leastArchiveEvery)
		}
	}
	for _, flag := range []string{"archive-keep", "archive-recipient", "archive-identity"} {
		if s.archive == "" && s.given(flag) {
			return badConfig("%s: it needs --archive; name a directory or s3://BUCKET/PREFIX", s.name(flag))
		}
	}
	if s.archiveIdentity != "" && len(s.archiveRecipients) == 0 {
		return badConfig("%s: it needs --archive-recipient, to whom the archive is encrypted",
			s.name("archive-identity"))
	}
	if s.archiveKeep < s.archiveFullEvery {
		return badConfig("%s %v: archive-keep >= archive-full-every must hold, and %s is %v; raise the first or "+
			"lower the second", s.name("archive-keep"), s.archiveKeep, s.name("archive-full-every"), s.archiveFullEvery)
	}
	return nil
}

// archived returns where the cluster is archived. Nothing is asked of the target.
func (s *settings) archived() (server.Archive, error) {
	if s.archive == "" {
		return server.Archive{}, nil
	}
	recipients, err := target.Recipients(s.archiveRecipients, nil)
	if err != nil {
		return server.Archive{}, badConfig("%s: %v", s.name("archive-recipient"), err)
	}
	identities, err := identities(s.archiveIdentity)
	if err != nil {
		return server.Archive{}, badConfig("%s: %v", s.name("archive-identity"), err)
	}
	x, err := target.Open(s.archive, target.Config{Recipients: recipients, Identities: identities})
	if err != nil {
		return server.Archive{}, badConfig("%s: %v", s.name("archive"), err)
	}
	readable := len(recipients) == 0 || len(identities) > 0
	return server.Archive{Target: x, Readable: readable, Schedule: archive.Schedule{FullEvery: s.archiveFullEvery,
		Keep: s.archiveKeep, VerifyEvery: s.archiveVerifyEvery}}, nil
}

// identities returns those of a file; none for "".
func identities(file string) ([]age.Identity, error) {
	if file == "" {
		return nil, nil
	}
	return target.Identities([]string{file})
}
