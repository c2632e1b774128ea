/** Starts a child and treats it as the first argument says. */
public class Children {
    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "slow_reader" -> {
                Process child = new ProcessBuilder("seq", "300000").start();
                Thread.sleep(1500);
                child.getInputStream().readAllBytes();
            }
            case "slow_child" ->
                new ProcessBuilder("sh", "-c", "sleep 3; echo 1").start().getInputStream().readAllBytes();
            case "deadlock" -> new ProcessBuilder("seq", "300000").start().waitFor();
            default -> new ProcessBuilder("seq", "2000000").start().getInputStream().readAllBytes();
        }
    }
}
