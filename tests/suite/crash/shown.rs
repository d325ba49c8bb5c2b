//! File systems that lack what plans use, each with the program that shows it. Only root can mount them.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, process::Command};

use tempfile::TempDir;

use crate::program::until;

use super::{
    disks::{as_root, done},
    lab::memory,
};

/// A kind of file system, and the program that shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum System {
    Bindfs,
    Encfs,
    ExFat,
    Gocryptfs,
    Mergerfs,
    Ntfs,
    /// Layers on two file systems: directories get other inode numbers when it is mounted again.
    Overlay,
    /// ext4 with inodes of 128 bytes.
    SmallInodes,
    Sshfs,
    /// The same with 8 MiB of space.
    SmallSshfs,
}

/// A mounted file system; gone with this value.
pub(crate) struct Shown {
    system: System,
    dir: TempDir,
    /// The loop device of the image.
    device: Option<String>,
}

impl Shown {
    /// Of 64 MiB, where that matters.
    pub(crate) fn new(system: System) -> Result<Self, String> {
        as_root()?;
        let dir = TempDir::with_prefix_in("oneact-system-", memory()).map_err(|e| e.to_string())?;
        for name in ["mounted", "kept", "kept/one", "kept/two", "kept/work"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let mut shown = Self {
            system,
            dir,
            device: None,
        };
        shown.prepare()?;
        shown.mount()?;
        Ok(shown)
    }

    fn at(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("mounted")
    }

    fn prepare(&mut self) -> Result<(), String> {
        let (image, kept) = (self.at("image"), self.at("kept"));
        let disk = |maker: &str, options: &[&str]| {
            done("truncate", &["-s", "64M", &image])?;
            done(maker, &[options, &[&image]].concat())
        };
        match self.system {
            System::ExFat => {
                disk("mkfs.exfat", &[])?;
                self.device = Some(attached(&image)?);
            }
            System::Ntfs => disk("mkfs.ntfs", &["-F", "-q", "-Q"])?,
            System::SmallInodes => disk("mkfs.ext4", &["-q", "-F", "-I", "128"])?,
            System::Overlay => {
                disk("mkfs.ext4", &["-q", "-F"])?;
                done("mount", &["-o", "loop", &image, &self.at("kept/two")])?;
                for name in ["kept/two/upper", "kept/two/work"] {
                    fs::create_dir(self.dir.path().join(name)).unwrap();
                }
            }
            System::Gocryptfs => {
                let word = ["-init", "-q", "-scryptn", "10", "-extpass", "echo word"];
                done("rmdir", &[&self.at("kept/one"), &self.at("kept/two")])?;
                done("rmdir", &[&self.at("kept/work")])?;
                done("gocryptfs", &[&word[..], &[&kept]].concat())?;
            }
            System::Sshfs | System::SmallSshfs => {
                if self.system == System::SmallSshfs {
                    done("mount", &["-t", "tmpfs", "-o", "size=8m", "none", &kept])?;
                }
                // Without a network: the server of sftp answers on a pipe.
                let server = "#!/bin/sh\nexec /usr/lib/openssh/sftp-server\n";
                fs::write(self.at("ssh"), server).unwrap();
                let mode = fs::Permissions::from_mode(0o755);
                fs::set_permissions(self.at("ssh"), mode).unwrap();
            }
            System::Bindfs | System::Encfs | System::Mergerfs => {}
        }
        Ok(())
    }

    fn mount(&self) -> Result<(), String> {
        let (image, kept, to) = (self.at("image"), self.at("kept"), self.at("mounted"));
        match self.system {
            System::Bindfs => done("bindfs", &[&kept, &to]),
            System::Encfs => done("encfs", &["--standard", "--extpass=echo word", &kept, &to]),
            System::ExFat => {
                let device = self.device.as_deref().unwrap();
                // With an execute bit on each file, each file would need an approval.
                done("mount.exfat-fuse", &["-o", "fmask=0133", device, &to])
            }
            System::Gocryptfs => done("gocryptfs", &["-q", "-extpass", "echo word", &kept, &to]),
            System::Mergerfs => {
                let branches = format!("{kept}/one:{kept}/two");
                done("mergerfs", &["-o", "minfreespace=0", &branches, &to])
            }
            System::Ntfs => done("ntfs-3g", &["-o", "fmask=0133", &image, &to]),
            System::SmallInodes => done("mount", &["-o", "loop", &image, &to]),
            System::Overlay => {
                let layers = format!(
                    "lowerdir={kept}/one,upperdir={kept}/two/upper,workdir={kept}/two/work"
                );
                done("mount", &["-t", "overlay", "-o", &layers, "overlay", &to])
            }
            System::Sshfs | System::SmallSshfs => {
                let server = format!("ssh_command={}", self.at("ssh"));
                done("sshfs", &["-o", &server, &format!("host:{kept}"), &to])
            }
        }
    }

    /// The same again, as after a restart.
    pub(crate) fn remount(&self) {
        let unmount = || done("umount", &[&self.at("mounted")]).ok();
        // Its program may still be at work on the last call.
        until("it is not busy", unmount);
        self.mount().unwrap();
    }

    /// Where its data are kept.
    pub(crate) fn kept(&self) -> PathBuf {
        self.dir.path().join("kept")
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        for name in ["mounted", "kept/two", "kept"] {
            // Most of them are mounted nowhere.
            let _ = done("umount", &["-l", &self.at(name)]);
        }
        if let Some(device) = &self.device {
            let _ = done("losetup", &["-d", device]);
        }
    }
}

/// A free loop device with that image.
fn attached(image: &str) -> Result<String, String> {
    let shown = Command::new("losetup")
        .args(["-f", "--show", image])
        .output();
    let shown = shown.map_err(|error| format!("losetup: {error}"))?;
    let device = String::from_utf8(shown.stdout).unwrap().trim().to_owned();
    if device.is_empty() {
        return Err("no loop device is free".to_owned());
    }
    Ok(device)
}
