// Counts in several threads: Count HOW-MANY ROUNDS.
public class Count {
    static volatile long total;

    static void count(long rounds) {
        long sum = 0;
        for (long i = 0; i < rounds; i++) sum += i % 7;
        total = sum;
    }

    public static void main(String[] arguments) throws InterruptedException {
        Thread[] all = new Thread[Integer.parseInt(arguments[0])];
        long rounds = Long.parseLong(arguments[1]);
        for (int i = 0; i < all.length; i++) {
            all[i] = new Thread(() -> count(rounds));
            all[i].start();
        }
        for (Thread one : all) one.join();
    }
}
