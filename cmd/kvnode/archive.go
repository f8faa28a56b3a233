package main

import (
	"time"

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
			return badConfig("%s %v: %s >= %v must hold; use 24h", s.name(every.flag), every.d, every.flag, leastArchiveEvery)
		}
	}
	if s.archive == "" && s.given("archive-keep") {
		return badConfig("%s: it needs --archive; name a directory or s3://BUCKET/PREFIX", s.name("archive-keep"))
	}
	if s.archiveKeep < s.archiveFullEvery {
		return badConfig("%s %v: archive-keep >= archive-full-every must hold, and %s is %v; raise the first or lower the second",
			s.name("archive-keep"), s.archiveKeep, s.name("archive-full-every"), s.archiveFullEvery)
	}
	return nil
}

// archived returns where the cluster is archived. Nothing is asked of the target.
func (s *settings) archived() (server.Archive, error) {
	if s.archive == "" {
		return server.Archive{}, nil
	}
	x, err := target.Open(s.archive, target.Config{})
	if err != nil {
		return server.Archive{}, badConfig("%s: %v", s.name("archive"), err)
	}
	return server.Archive{Target: x, Readable: true, Schedule: archive.Schedule{FullEvery: s.archiveFullEvery,
		Keep: s.archiveKeep, VerifyEvery: s.archiveVerifyEvery}}, nil
}
