# Installs pelton's release with Homebrew on Linux: put this file into a tap, then `brew install TAP/pelton`.
class Pelton < Formula
  # The address of the directory with the files of the release:
  BASE_URL = "@BASE_URL@".freeze

  desc "Shows where shell pipelines spend their time, and runs them faster"
  homepage BASE_URL
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]
  depends_on :linux

  on_intel do
    url "#{BASE_URL}/@ARCHIVE_x86_64@"
    sha256 "@SHA256_x86_64@"
  end

  on_arm do
    url "#{BASE_URL}/@ARCHIVE_aarch64@"
    sha256 "@SHA256_aarch64@"
  end

  def install
    bash_completion.install "share/bash-completion/completions/pelton"
    prefix.install "bin", "share"
  end

  test do
    assert_equal "3\n2\n1\n", shell_output("#{bin}/pelton run 'seq 3 | tac'")
  end
end
