// Image makes the container image of a release: an archive of an OCI image layout, with an image for each architecture.
// It needs no daemon, and what it makes depends on its input alone. packaging/build runs it.
//
//	image VERSION REVISION SECONDS OUT ARCH=DIR…
//
// The date of everything is SECONDS after 1970. Each DIR holds the files of the image for ARCH.
package main

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// release is what is the same for all architectures.
type release struct {
	version, revision string
	date              time.Time
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 5 {
		return fmt.Errorf("usage: image VERSION REVISION SECONDS OUT ARCH=DIR…")
	}
	seconds, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return err
	}
	r, out := release{args[0], args[1], time.Unix(seconds, 0).UTC()}, args[3]
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arg := range args[4:] {
		arch, dir, _ := strings.Cut(arg, "=")
		image, err := r.image(arch, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: programs{image},
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	index = mutate.Annotations(index, r.labels()).(v1.ImageIndex)
	return r.write(index, out)
}

// programs is a runnable image. By default the library would call it an artifact of the type of its configuration, and
// some programs do not run artifacts.
type programs struct{ v1.Image }

func (programs) ArtifactType() (string, error) { return "", nil }

// write makes the archive: a layout whose only entry is index.
func (r release) write(index v1.ImageIndex, out string) error {
	dir, err := os.MkdirTemp("", "image")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	names := map[string]string{ // what Podman, and Docker and containerd, call what they load
		"org.opencontainers.image.ref.name": "tenure:" + r.version,
		"io.containerd.image.name":          "docker.io/library/tenure:" + r.version,
	}
	if err := l.AppendIndex(index, layout.WithAnnotations(names)); err != nil {
		return err
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	if err := r.archive(f, dir); err != nil {
		return err
	}
	return f.Close()
}

// archive writes the files of dir to w, in the order of their names. dataDir is of user, all else of user and group 0.
func (r release) archive(w io.Writer, dir string) error {
	t := tar.NewWriter(w)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		h := tar.Header{Name: name, ModTime: r.date, Format: tar.FormatPAX}
		switch {
		case name == dataDir: // a new volume of Docker takes the owner of the directory on which it is mounted
			h.Typeflag, h.Mode, h.Uid, h.Gid = tar.TypeDir, 0o700, user, user
		case d.IsDir():
			h.Typeflag, h.Mode = tar.TypeDir, 0o755
		default: // who may read a file, and the rest of its mode, depends on the umask with which it was made
			h.Typeflag, h.Size, h.Mode = tar.TypeReg, info.Size(), int64(0o644|info.Mode()&0o100/0o100*0o111)
		}
		if err := t.WriteHeader(&h); err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(t, f)
		return err
	})
	if err != nil {
		return err
	}
	return t.Close()
}
