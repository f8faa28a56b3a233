// Package buildinfo says which build of Tenure a program is.
package buildinfo

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Version is the version of a release. It is set when a release is linked:
//
//	go build -ldflags "-X tenure/internal/buildinfo.Version=v1.2.3" ./cmd/...
var Version = ""

// Info describes a build.
type Info struct {
	// Version is that of the release, else the module's, else "devel" with 12 digits of the revision.
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // the commit that was built, in full; "" if the go command noted none
	Modified bool   `json:"modified,omitempty"` // there were changes beyond that commit
	Go       string `json:"go"`
	Platform string `json:"platform"` // GOOS/GOARCH
}

// Read returns what the linker and the go command noted in this program.
func Read() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = new(debug.BuildInfo)
	}
	return read(Version, build)
}

// shortRevision is how many digits of a revision stand in the version of a development build.
const shortRevision = 12

func read(linked string, build *debug.BuildInfo) Info {
	i := Info{Version: linked, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			i.Revision = s.Value
		case "vcs.modified":
			i.Modified = s.Value == "true"
		}
	}
	switch v := build.Main.Version; {
	case i.Version != "":
	case v != "" && v != "(devel)":
		i.Version = v
	case len(i.Revision) >= shortRevision:
		i.Version = "devel-" + i.Revision[:shortRevision]
	default:
		i.Version = "devel"
	}
	return i
}

// Line returns one line for people: the program, its version, the revision, the Go version and the platform.
func (i Info) Line(program string) string {
	revision := i.Revision
	switch {
	case revision == "":
		revision = "unknown"
	case i.Modified:
		revision += "+changes"
	}
	return fmt.Sprintf("%s %s revision %s %s %s", program, i.Version, revision, i.Go, i.Platform)
}
